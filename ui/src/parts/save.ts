/** Have the browser save a file. */
export function saveAs(content: Blob, name: string): void {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(content);
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(anchor.href);
}
