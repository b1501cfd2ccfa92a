import type { Bot, BotEntry, CreateBot } from '@parley/contracts/admin/bots';
import type { TagDefinitions } from '@parley/contracts/definition';

/** What a bot declares, as it is stored: every part present. */
type BotDefinition = Pick<
  Bot,
  | 'states'
  | 'events'
  | 'recurringEvents'
  | 'subscriptions'
  | 'actions'
  | 'configuration'
  | 'user'
  | 'conversation'
  | 'message'
>;

/** What a list shows of a bot. */
export interface BotEntryRow {
  id: string;
  name: string;
  type: Bot['type'];
  tags: Record<string, string>;
  created_at: Date;
  updated_at: Date;
  deployed_at: Date | null;
}

export interface BotRow extends BotEntryRow {
  workspace_id: string;
  description: string | null;
  dev: boolean;
  medias: Bot['medias'];
  max_execution_time: number | null;
  definition: BotDefinition;
  /** Encrypted. */
  signing_secret: string;
  secret_names: string[];
  created_by: string | null;
}

export function toDefinition(input: CreateBot): BotDefinition {
  const recurring = Object.entries(input.recurringEvents ?? {});
  return {
    states: input.states ?? {},
    events: input.events ?? {},
    recurringEvents: Object.fromEntries(
      recurring.map(([name, event]) => [name, { ...event, failedAttempts: 0, lastFailureReason: null }]),
    ),
    subscriptions: { events: input.subscriptions?.events ?? null },
    actions: input.actions ?? {},
    configuration: { data: input.configuration?.data ?? {}, schema: input.configuration?.schema ?? {} },
    user: withTags(input.user),
    conversation: withTags(input.conversation),
    message: withTags(input.message),
  };
}

export function toBot(row: BotRow, signingSecret: string): Bot {
  return {
    ...toBotEntry(row),
    ...row.definition,
    signingSecret,
    integrations: {},
    plugins: {},
    description: row.description ?? undefined,
    maxExecutionTime: row.max_execution_time ?? undefined,
    dev: row.dev,
    secrets: row.secret_names,
    createdBy: row.created_by ?? undefined,
    alwaysAlive: false,
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

function withTags(definitions: TagDefinitions | undefined) {
  return { tags: definitions?.tags ?? {} };
}
