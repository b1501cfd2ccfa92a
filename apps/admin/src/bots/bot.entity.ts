import type { Bot, BotEntry } from '@parley/contracts/admin/bots';
import { shownConfigurationSchema } from '@parley/contracts/schemas';
import type { InstalledRows } from '../installations/installation.entity';
import type { BotDefinition } from './bot-definition';

export interface BotEntryRow {
  id: string;
  name: string;
  type: Bot['type'];
  tags: Record<string, string>;
  created_at: Date;
  updated_at: Date;
  deployed_at: Date | null;
}

export interface BotRow extends BotEntryRow, InstalledRows {
  workspace_id: string;
  description: string | null;
  dev: boolean;
  medias: Bot['medias'];
  max_execution_time: number | null;
  always_alive: boolean;
  definition: BotDefinition;
  /** Encrypted. */
  signing_secret: string;
  secret_names: string[];
  created_by: string | null;
}

export interface LockedBotRow extends BotRow {
  /** Encrypted values by name. */
  secrets: Record<string, string>;
}

export function toBot(
  row: BotRow,
  signingSecret: string,
  definition: BotDefinition,
  installed: Pick<Bot, 'integrations' | 'plugins'>,
): Bot {
  const { data, schema } = definition.configuration;
  return {
    ...toBotEntry(row),
    ...definition,
    configuration: { data, schema: shownConfigurationSchema(schema) },
    ...installed,
    signingSecret,
    description: row.description ?? undefined,
    maxExecutionTime: row.max_execution_time ?? undefined,
    dev: row.dev,
    secrets: row.secret_names,
    createdBy: row.created_by ?? undefined,
    alwaysAlive: row.always_alive,
    status: 'active',
    medias: row.medias,
  };
}

export function toBotEntry(row: BotEntryRow): BotEntry {
  return {
    id: row.id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    name: row.name,
    deployedAt: row.deployed_at?.toISOString(),
    tags: row.tags,
    type: row.type,
  };
}
