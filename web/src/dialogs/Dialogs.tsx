/** Which dialog a request opens. */
import { AcceptDialog } from "./AcceptDialog";
import { ContinueDialog } from "./ContinueDialog";
import { DecisionDialog } from "./DecisionDialog";
import { ForkDialog } from "./ForkDialog";
import type { DialogRequest } from ".";

export default function Dialogs({ request, onClose }: { request: DialogRequest; onClose: () => void }) {
  switch (request.kind) {
    case "fork":
      return <ForkDialog request={request} onClose={onClose} />;
    case "continue":
      return <ContinueDialog request={request} onClose={onClose} />;
    case "accept":
      return <AcceptDialog request={request} onClose={onClose} />;
    case "approve":
    case "reject":
      return <DecisionDialog request={request} onClose={onClose} />;
  }
}
