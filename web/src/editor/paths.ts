/** Where files are: in the address, and beside each other. */
export const editPath = (file: string): string => `/edit/${encodeURIComponent(file)}`;

/** A file that is named in another one, as seen from the project. */
export function fileBeside(file: string, named: string): string {
  const parts = file.split("/").slice(0, -1);
  for (const part of named.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}
