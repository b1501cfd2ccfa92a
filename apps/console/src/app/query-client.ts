import { QueryCache, QueryClient } from '@tanstack/react-query';
import { apiErrorOf } from '../api/api-error';
import { forgetSession } from '../api/session';

const maxRetries = 2;

export const queryClient = new QueryClient({
  // The token has expired or was revoked.
  queryCache: new QueryCache({ onError: (error) => apiErrorOf(error).code === 401 && forgetSession() }),
  defaultOptions: {
    queries: {
      // Another attempt does not change an answer to a wrong request.
      retry: (failures, error) => failures < maxRetries && (apiErrorOf(error).code ?? 500) >= 500,
    },
  },
});
