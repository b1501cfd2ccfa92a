const base64Url = /^data:text\/markdown[^,]*;base64,(.+)$/s;

/** Text of a readme, which the platform stores as a `data:` URL; the content security policy forbids to fetch it. */
export function readmeOf(url: string | undefined): string | undefined {
  const encoded = base64Url.exec(url ?? '')?.[1];
  if (encoded === undefined) return undefined;
  return new TextDecoder().decode(Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0)));
}
