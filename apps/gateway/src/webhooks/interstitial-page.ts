const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const maxReasonLength = 500;

/** Page for a person who has connected an integration with another service. */
export function interstitialPage(isSuccess: boolean, reason = ''): string {
  const title = isSuccess ? 'Connected' : 'Not connected';
  const text = isSuccess
    ? 'The integration is connected. You may close this window.'
    : 'The integration could not be connected. Close this window, and try again.';
  const shown = reason === '' ? '' : `<p><code>${escaped(reason.slice(0, maxReasonLength))}</code></p>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;color:#1c1e21}code{overflow-wrap:anywhere}</style>
</head>
<body>
<h1>${title}</h1>
<p>${text}</p>
${shown}
</body>
</html>
`;
}

/** The page loads nothing, and nothing can run in it. */
export const interstitialHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character]!);
}
