import { chatIntegration } from '@parley/contracts/hub/built-in';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Corrects the settings of chat, which wrongly said that a webhook receives signals. */
export class ChatSettings1700000003024 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('UPDATE integration SET definition = $2 WHERE id = $1', [
      chatIntegration.id,
      JSON.stringify(chatIntegration.definition),
    ]);
  }

  down(): Promise<void> {
    return Promise.resolve();
  }
}
