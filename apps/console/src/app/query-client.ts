import { QueryClient } from '@tanstack/react-query';
import { apiErrorOf } from '../api/api-error';

const maxRetries = 2;
const staleMs = 5_000;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: staleMs,
      // Another attempt does not change an answer to a wrong request.
      retry: (failures, error) => failures < maxRetries && (apiErrorOf(error).code ?? 500) >= 500,
    },
  },
});
