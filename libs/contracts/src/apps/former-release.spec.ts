import type { AppName } from './app';
import { apps } from './apps';
import former from './former-release.json';

interface FormerApp {
  requests: string[];
  publishes: string[];
  /** Events by the name of their consumer. */
  consumes: Record<string, string>;
  broadcasts: string[];
  listens: string[];
}

/** Names on the bus of release 0.2.0, whose processes run beside ours during an upgrade: docs/decisions/0039-backward-compatible-contracts.md. */
const formerApps = Object.entries(former) as [AppName, FormerApp][];
const names = (some: { subject: string }[] = []) => some.map(({ subject }) => subject);

describe.each(formerApps)(
  '%s of the former release',
  (name, { requests, publishes, consumes, broadcasts, listens }) => {
    const app = apps[name];

    it('gets the permission for all its requests', () => {
      const requested = names([...app.requests, ...(app.formerRequests ?? []), ...(app.requestsInstances ?? [])]);
      expect(requests.filter((subject) => !requested.includes(subject))).toEqual([]);
    });

    it('gets the permission for its events, also those in the outbox', () => {
      const published = names([...app.publishes, ...(app.formerPublishes ?? [])]);
      expect(publishes.filter((subject) => !published.includes(subject))).toEqual([]);
    });

    it('shares its consumers with our processes', () => {
      const consumed = Object.fromEntries(app.consumes.map((consumer) => [consumer.name, consumer.event.subject]));
      expect(consumed).toMatchObject(consumes);
    });

    it('keeps its broadcasts', () => {
      expect(broadcasts.filter((subject) => !names(app.broadcasts).includes(subject))).toEqual([]);
      expect(listens.filter((subject) => !names(app.listens).includes(subject))).toEqual([]);
    });
  },
);
