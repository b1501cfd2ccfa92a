/** Names of headers that hold secrets, such as `authorization`, `cookie` and `x-api-key`. Signatures are no secrets. */
const secretHeader = /authorization|cookie|token|secret|password|credential|api-?key/;

/** Headers without those that hold secrets, and the names of these. */
export function maskHeaders(headers: Record<string, string>) {
  const isSecret = (name: string) => secretHeader.test(name.toLowerCase());
  const kept = Object.entries(headers).filter(([name]) => !isSecret(name));
  return { headers: Object.fromEntries(kept), maskedHeaders: Object.keys(headers).filter(isSecret) };
}
