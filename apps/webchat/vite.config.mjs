import { defineConfig } from 'vite';

export default defineConfig({
  logLevel: 'warn',
  define: { 'process.env.NODE_ENV': '"production"' },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    emptyOutDir: true,
    // One file, whose address is on pages of other people.
    rolldownOptions: {
      input: 'src/element.tsx',
      output: { entryFileNames: 'embed.js', postBanner: '/*! Licences: licences.md beside this file. */' },
    },
    modulePreload: { polyfill: false },
    // Notices of the packages in the bundle.
    license: { fileName: 'licences.md' },
  },
});
