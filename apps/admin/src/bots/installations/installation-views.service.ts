import { Injectable } from '@nestjs/common';
import { hasPermission, type WorkspaceCaller } from '@parley/contracts/access';
import type { BotIntegration } from '@parley/contracts/admin/bot-integrations';
import type { BotPlugin } from '@parley/contracts/admin/bot-plugins';
import { SecretBox } from '@parley/secrets/secret-box';
import { chatBaseOf, webhookBaseOf } from '@parley/service/config';
import { AdminConfig } from '../../config';
import { builtInChat } from './built-in-chat';
import {
  type InstallationRow,
  type InstalledRows,
  openConfiguration,
  type PluginRow,
  toBotIntegration,
  toBotPlugin,
} from './installation.entity';

/** Installations as a caller sees them: configurations are shown to callers with permission to write only. */
@Injectable()
export class InstallationViewsService {
  constructor(
    private readonly box: SecretBox,
    private readonly config: AdminConfig,
  ) {}

  /** By id, an integration that is installed more than once is shown by its smallest alias: rows are sorted by alias. */
  show(caller: WorkspaceCaller, { integrations, plugins }: InstalledRows, byAlias = false) {
    const keyOf = (row: InstallationRow) => (byAlias ? row.alias : row.integration_id);
    const shown = integrations.filter((row) => row === integrations.find((other) => keyOf(other) === keyOf(row)));
    return {
      integrations: Object.fromEntries(shown.map((row) => [keyOf(row), this.showIntegration(caller, row)])),
      plugins: Object.fromEntries(plugins.map((row) => [row.alias, this.showPlugin(caller, row)])),
    };
  }

  private showIntegration(caller: WorkspaceCaller, row: InstallationRow): BotIntegration {
    const isChat = row.integration_id === builtInChat.id;
    const base = isChat ? chatBaseOf(this.config) : webhookBaseOf(this.config);
    return toBotIntegration(row, this.showConfiguration(caller, row), `${base}/${row.webhook_id}`);
  }

  private showPlugin(caller: WorkspaceCaller, row: PluginRow): BotPlugin {
    return toBotPlugin(row, this.showConfiguration(caller, row));
  }

  private showConfiguration({ role }: WorkspaceCaller, row: InstallationRow | PluginRow): Record<string, unknown> {
    return role !== undefined && hasPermission(role, 'write') ? openConfiguration(this.box, row.configuration) : {};
  }
}
