/** Makes a new workflow file and opens it, where the server writes files. */
import { lazy, Suspense, useState } from "react";
import { Loading } from "../../app/Notice";
import { navigate } from "../../app/router";
import { useMay } from "../../app/session";

const NewDialog = lazy(() => import("../../editor/new").then(({ NewDialog: found }) => ({ default: found })));

export function NewButton() {
  const { may } = useMay("new file");
  const [isOpen, setOpen] = useState(false);
  if (!may) return null;
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        New…
      </button>
      {isOpen && (
        <Suspense fallback={<Loading what="the templates" />}>
          <NewDialog onMade={(file) => navigate(`/edit/${encodeURIComponent(file)}`)} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
