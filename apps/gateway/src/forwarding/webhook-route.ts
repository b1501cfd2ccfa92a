import type { FastifyRequest } from 'fastify';

/** Configuration of the routes whose answers come from integrations. */
export const webhookRoute = { isWebhook: true };

/** True for routes without the headers with which the API allows requests from other origins. */
export function isWebhookRoute({ routeOptions }: FastifyRequest): boolean {
  return (routeOptions.config as Partial<typeof webhookRoute>).isWebhook === true;
}
