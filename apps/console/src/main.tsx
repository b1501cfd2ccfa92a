import '@mantine/core/styles.css';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { takeCode } from './api/session';
import { queryClient } from './app/query-client';
import { createAppRouter } from './app/router';
import { colors, styleNonce, theme } from './app/theme';

// Dialogs lock the scrolling of the page with a style element, for which their package reads this name.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });

const code = takeCode();
const router = createAppRouter(code);

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={colors} defaultColorScheme="auto" getStyleNonce={styleNonce}>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
