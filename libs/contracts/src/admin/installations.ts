import { IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { ListOf } from '../fields';
import { consumer, event, operation } from '../operation';

export class Installed {
  @IsString() alias!: string;

  /** Version id of the integration or plugin. */
  @IsString() id!: string;
}

/** All installations of a bot. Replaces the state of an event with a smaller revision. Empty after the bot's deletion. */
export class InstallationsChanged {
  @IsString() botId!: string;
  @IsString() workspaceId!: string;

  /** Increases with every change of this bot's installations. */
  @IsInt() revision!: number;

  @ListOf(Installed) integrations!: Installed[];
  @ListOf(Installed) plugins!: Installed[];
}

export const installationsChanged = event({ subject: 'admin.installationsChanged', data: InstallationsChanged });

export const refreshInstalled = consumer({ name: 'admin.refreshInstalled', event: installationsChanged });
export const eraseRecordings = consumer({ name: 'runtime.eraseRecordings', event: installationsChanged });
export const countInstallations = consumer({ name: 'hub.countInstallations', event: installationsChanged });

export class HubEntryId {
  @IsString() id!: string;
}

export class InstallationCount {
  @IsInt() count!: number;
}

export const installations = {
  count: operation({
    subject: 'admin.installations.count',
    summary: 'Counts the bots that have this version of an integration or plugin installed.',
    access: service,
    input: HubEntryId,
    output: InstallationCount,
  }),
};
