/** The nonce with which libraries may add style sheets to this page, in AG Grid's words. */
export function styleNonce(): { styleNonce?: string } {
  const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content;
  return nonce ? { styleNonce: nonce } : {};
}
