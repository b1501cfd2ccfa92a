import { NatsLink } from '@parley/transport/nats-connection';
import { operatorName } from '@parley/transport/permissions';
import { StreamUpkeep } from '@parley/transport/stream-upkeep';
import { createLogger } from '@parley/logging/logger';
import type { NatsConfig } from '@parley/service/config';

/** Runs work on the streams as the NATS user `operator`. */
export async function asOperator<T>(config: NatsConfig, work: (upkeep: StreamUpkeep) => Promise<T>): Promise<T> {
  const link = await NatsLink.open(
    config.natsUrl,
    operatorName,
    createLogger(operatorName, 'warn'),
    config.credentials,
  );
  try {
    return await work(new StreamUpkeep(link));
  } finally {
    await link.close();
  }
}
