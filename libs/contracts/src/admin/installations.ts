import { IsInt, IsString } from 'class-validator';
import { service } from '../access';
import { ListOf } from '../fields';
import { consumer, event, operation } from '../operation';

/** Something of the hub that a bot has under an alias. */
export class Installed {
  @IsString()
  alias!: string;

  /** Version id of the integration or plugin. */
  @IsString()
  id!: string;
}

/** All that a bot has installed; replaces what an event with a smaller revision said. Empty when the bot is gone. */
export class InstallationsChanged {
  @IsString()
  botId!: string;

  @IsString()
  workspaceId!: string;

  /** Grows with every change of this bot's installations. */
  @IsInt()
  revision!: number;

  @ListOf(Installed)
  integrations!: Installed[];

  @ListOf(Installed)
  plugins!: Installed[];
}

export const installationsChanged = event({ subject: 'admin.installationsChanged', data: InstallationsChanged });

export const refreshInstalled = consumer({ name: 'admin.refreshInstalled', event: installationsChanged });
export const countInstallations = consumer({ name: 'hub.countInstallations', event: installationsChanged });

export class HubEntryId {
  @IsString()
  id!: string;
}

export class InstallationCount {
  @IsInt()
  count!: number;
}

export const installations = {
  count: operation({
    subject: 'admin.installations.count',
    summary: 'Says how many bots have this version of an integration or plugin installed, right now.',
    access: service,
    input: HubEntryId,
    output: InstallationCount,
  }),
};
