import type { RecurringEventDefinition } from '@parley/contracts/definition';
import { mapEntries } from '@parley/contracts/entries';
import type { UpdateBot } from '@parley/contracts/admin/bots';
import type { BotDefinition } from './bot-definition';
import type { PluginRow } from './installation.entity';

type Entries<T> = Record<string, T>;
type Shown = Pick<UpdateBot, 'states' | 'events' | 'actions' | 'user' | 'conversation' | 'message'>;

/** Merges the entities of enabled plugins into the bot's definition, named `alias#name`. */
export function withPlugins(own: BotDefinition, plugins: PluginRow[]): BotDefinition {
  return plugins
    .filter(({ enabled }) => enabled)
    .reduce<BotDefinition>(
      (merged, { alias, definition }) => ({
        ...merged,
        states: { ...merged.states, ...prefixed(alias, definition.states) },
        events: { ...merged.events, ...prefixed(alias, definition.events) },
        actions: { ...merged.actions, ...prefixed(alias, definition.actions) },
        user: { tags: { ...merged.user.tags, ...prefixed(alias, definition.userTags) } },
        conversation: { tags: { ...merged.conversation.tags, ...prefixed(alias, definition.conversationTags) } },
        message: { tags: { ...merged.message.tags, ...prefixed(alias, definition.messageTags) } },
      }),
      own,
    );
}

/** Recurring events of the bot and of its enabled plugins, whose names and types become `alias#name`. */
export function allRecurringEvents(
  own: Entries<RecurringEventDefinition>,
  plugins: Pick<PluginRow, 'alias' | 'enabled' | 'recurring_events'>[],
): Entries<RecurringEventDefinition> {
  return plugins
    .filter(({ enabled }) => enabled)
    .reduce((all, { alias, recurring_events }) => {
      const events = mapEntries(recurring_events, (event) => ({ ...event, type: `${alias}#${event.type}` }));
      return { ...all, ...prefixed(alias, events) };
    }, own);
}

/**
 * Removes the entities of these plugins from an update. A client that sends back a reply must not copy them into the
 * bot's own definition.
 */
export function withoutPlugins<T extends Shown>(update: T, aliases: string[]): T {
  const own = <E>(entries: Entries<E> | undefined) => entries && withoutPrefixes(entries, aliases);
  const ownTags = <D extends { tags?: Entries<unknown> }>(definitions: D | undefined) =>
    definitions && { ...definitions, tags: own(definitions.tags) };
  return {
    ...update,
    states: own(update.states),
    events: own(update.events),
    actions: own(update.actions),
    user: ownTags(update.user),
    conversation: ownTags(update.conversation),
    message: ownTags(update.message),
  };
}

export function prefixed<T>(alias: string, entries: Entries<T>): Entries<T> {
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [`${alias}#${name}`, entry]));
}

function withoutPrefixes<T>(entries: Entries<T>, aliases: string[]): Entries<T> {
  const isAdded = (name: string) => aliases.some((alias) => name.startsWith(`${alias}#`));
  return Object.fromEntries(Object.entries(entries).filter(([name]) => !isAdded(name)));
}
