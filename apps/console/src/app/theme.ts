import { createTheme } from '@mantine/core';

export const theme = createTheme({
  primaryColor: 'blue',
  autoContrast: true,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  headings: { fontFamily: 'inherit' },
});

/** Nonce of this response, with which the Content-Security-Policy admits style elements. */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
}
