import type { PendingRegistration } from '@parley/contracts/admin/registrations';
import { type NewWork, queue } from '@parley/work-queue/queue';

export interface RegistrationPayload extends PendingRegistration {
  botId: string;
}

/** Installations that integrations have to be notified about. One that changes meanwhile is notified once more. */
export const integrationRegistrations = queue<RegistrationPayload>('runtime.integrationRegistrations', {
  repeated: 'again',
});

export function toWork(botId: string, registrations: PendingRegistration[]): NewWork<RegistrationPayload>[] {
  return registrations.map(({ kind, id }) => ({
    key: `${botId}/${kind}/${id}`,
    // Work of a deleted bot is erased, but its integrations have to be notified.
    tenant: kind === 'unregister' ? id : botId,
    payload: { botId, kind, id },
  }));
}
