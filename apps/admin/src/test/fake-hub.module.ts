import { Controller, type DynamicModule, Inject, Module } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { Caller } from '@parley/contracts/caller';
import {
  type FindIntegrationOwner,
  type InstallableIntegration,
  type InstallablePlugin,
  type PluginProblem,
  resolution,
  type ResolveIntegrations,
  type ResolvePlugins,
} from '@parley/contracts/hub/resolution';
import type { Platform } from '@parley/service/platform';
import type { ServiceConfig } from '@parley/service/config';
import { ServiceModule } from '@parley/service/service.module';
import { builtInChat } from '../bots/installations/built-in-chat';

/** Entries of the fake hub, and the calls that it received with a request of a user, not from the background. */
export class FakeHub {
  readonly integrations = new Map<string, InstallableIntegration>();
  readonly plugins = new Map<string, Omit<InstallablePlugin, 'alias'>>();
  readonly owners = new Map<string, string>();
  readonly problems: PluginProblem[] = [];
  calls: string[] = [];
  /** Hook before the reply to such a call. */
  beforeReply: () => Promise<void> = () => Promise.resolve();

  constructor() {
    this.addIntegration(builtInChat.id, {
      ...builtInChat,
      configurationSchema: { type: 'object', properties: { encryptionKey: { type: 'string' } } },
      channels: ['channel'],
      states: {},
      extraOperations: [],
      isCallable: false,
    });
  }

  addIntegration(id: string, given: Partial<InstallableIntegration> = {}): string {
    this.integrations.set(id, {
      ...summary(id),
      configurationSchema: {},
      configurationSchemas: {},
      channels: [],
      states: {},
      extraOperations: [],
      isCallable: true,
      interfaces: {},
      ...given,
    });
    return id;
  }

  addPlugin(id: string, given: Partial<InstallablePlugin> = {}): string {
    this.plugins.set(id, {
      ...summary(id),
      configurationSchema: {},
      ...{ states: {}, events: {}, actions: {}, userTags: {}, conversationTags: {}, messageTags: {} },
      ...{ interfaces: {}, integrations: {} },
      ...given,
    });
    return id;
  }
}

function summary(id: string) {
  return {
    id,
    name: id,
    version: '1.0.0',
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-01-02T00:00:00.000Z',
    title: `Title of ${id}`,
    description: 'Says what it does',
    iconUrl: 'https://example.com/icon.svg',
    readmeUrl: 'https://example.com/readme.md',
    visibility: 'public' as const,
    verificationStatus: 'unapproved' as const,
    lifecycleStatus: 'published' as const,
  };
}

const fakeHubToken = Symbol('fake hub');

@Controller()
class ResolutionController {
  constructor(@Inject(fakeHubToken) private readonly hub: FakeHub) {}

  @Handles(resolution.integrations)
  async integrations(caller: Caller, { ids }: ResolveIntegrations) {
    const integrations = ids.flatMap((id) => this.hub.integrations.get(id) ?? []);
    if (caller.account) await this.recordCall(`integrations ${ids.join(' ')}`);
    return { integrations };
  }

  @Handles(resolution.plugins)
  async plugins(caller: Caller, { plugins }: ResolvePlugins) {
    const found = plugins.flatMap(({ alias, id }) => {
      const plugin = this.hub.plugins.get(id);
      return plugin ? { ...plugin, alias } : [];
    });
    if (caller.account) await this.recordCall(`plugins ${plugins.map(({ id }) => id).join(' ')}`);
    return { plugins: found, problems: this.hub.problems };
  }

  @Handles(resolution.owner)
  async owner(_caller: Caller, { id }: FindIntegrationOwner) {
    return { workspaceId: this.hub.owners.get(id) ?? null };
  }

  private async recordCall(call: string): Promise<void> {
    this.hub.calls.push(call);
    await this.hub.beforeReply();
  }
}

@Module({})
export class FakeHubModule {
  static of(hub: FakeHub) {
    return {
      register: (config: ServiceConfig, platform: Platform): DynamicModule => ({
        module: FakeHubModule,
        imports: [
          ServiceModule.register(
            {
              name: 'hub',
              contract: { resolution },
              database: { schema: 'hub', migrations: [], entities: [], config },
            },
            platform,
          ),
        ],
        controllers: [ResolutionController],
        providers: [{ provide: fakeHubToken, useValue: hub }],
      }),
    };
  }
}
