import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  logLevel: 'warn',
  // The gateway replaces it in each response.
  html: { cspNonce: 'PARLEY_NONCE' },
  resolve: {
    alias: {
      '@parley/contracts': fileURLToPath(new URL('../../libs/contracts/src', import.meta.url)),
    },
  },
  build: {
    emptyOutDir: true,
    // Notices of the packages in the bundle.
    license: { fileName: 'licences.md' },
    assetsInlineLimit: 0,
    // The public client has 280 kB and the component library about as much.
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      // These directives have no effect in a bundle for browsers.
      onwarn: (warning, warn) => {
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning);
      },
    },
    modulePreload: { polyfill: false },
  },
});
