import { type DynamicModule, Module } from '@nestjs/common';
import { adminApp } from '@parley/contracts/apps/admin';
import { admin } from '@parley/contracts/admin/admin';
import { deadLettersController } from '@parley/events/dead-letters';
import { eventEntities } from '@parley/events/event-entities';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import type { SealedColumns } from '@parley/secrets/sealed-texts.repository';
import { SealingModule } from '@parley/secrets/sealing.module';
import { ConfigModule } from '@parley/service/config.module';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { workController } from '@parley/work-queue/work.controller';
import { AccountEntity } from './accounts/account.entity';
import { AccountsModule } from './accounts/accounts.module';
import { AuditRecordEntity } from './audit/audit-record.entity';
import { AuditModule } from './audit/audit.module';
import { BotCodeModule } from './bot-code/bot-code.module';
import { BotDefinitionsModule } from './bot-definitions/bot-definitions.module';
import { BotAllowedMemberEntity } from './bots/bot-allowed-member.entity';
import { BotCodeEntity, BotVersionEntity } from './bots/bot-version.entity';
import { BotEntity } from './bots/bot.entity';
import { BotTargetsModule } from './bot-targets/bot-targets.module';
import { BotsModule } from './bots/bots.module';
import { RecurringFailureEntity } from './bots/recurring-failure.entity';
import { FormerSigningSecretEntity } from './bots/former-signing-secret.entity';
import { AdminConfig } from './config';
import { ConsoleLinkEntity } from './console/console-link.entity';
import { ConsoleModule } from './console/console.module';
import { IdentityModule } from './identity/identity.module';
import { BotPluginEntity, InstallationEntity } from './installations/installation.entity';
import { InstallationsModule } from './installations/installations.module';
import { ShareableIdEntity } from './installations/shareable-id.entity';
import { IntrospectionModule } from './introspection/introspection.module';
import { MemberEntity } from './roles/member.entity';
import { MembersModule } from './members/members.module';
import { Admin1795392000000 } from './migrations/1795392000000-admin';
import { CalledBots1796100000000 } from './migrations/1796100000000-called-bots';
import { RecurringFailures1796200000000 } from './migrations/1796200000000-recurring-failures';
import { Registrations1796400000000 } from './migrations/1796400000000-registrations';
import { RuntimeKeys1796300000000 } from './migrations/1796300000000-runtime-keys';
import { ConsoleLinks1796500000000 } from './migrations/1796500000000-console-links';
import { WebchatSettings1796600000000 } from './migrations/1796600000000-webchat-settings';
import { OperatorsModule } from './operators/operators.module';
import { AccountPreferenceEntity, WorkspacePreferenceEntity } from './preferences/preference.entity';
import { FormerInstallationEntity } from './registrations/former-installation.entity';
import { RegistrationsModule } from './registrations/registrations.module';
import { RuntimeKeysModule } from './runtime-keys/runtime-keys.module';
import { BillingModule } from './billing/billing.module';
import { PreferencesModule } from './preferences/preferences.module';
import { TokenEntity } from './tokens/token.entity';
import { TokensModule } from './tokens/tokens.module';
import { UsageEntity } from './usage/usage.entity';
import { UsageModule } from './usage/usage.module';
import { WebchatSettingsEntity } from './webchats/webchat-settings.entity';
import { WebchatsModule } from './webchats/webchats.module';
import { WorkspaceEntity } from './workspaces/workspace.entity';
import { WorkspacesModule } from './workspaces/workspaces.module';

export const adminDatabase: ServiceSchema = {
  schema: 'admin',
  migrations: [
    Admin1795392000000,
    CalledBots1796100000000,
    RecurringFailures1796200000000,
    RuntimeKeys1796300000000,
    Registrations1796400000000,
    ConsoleLinks1796500000000,
    WebchatSettings1796600000000,
  ],
  entities: [
    ...eventEntities,
    IdempotencyKeyEntity,
    AccountEntity,
    WorkspaceEntity,
    MemberEntity,
    BotEntity,
    TokenEntity,
    AuditRecordEntity,
    AccountPreferenceEntity,
    WorkspacePreferenceEntity,
    UsageEntity,
    BotCodeEntity,
    BotVersionEntity,
    BotAllowedMemberEntity,
    FormerSigningSecretEntity,
    RecurringFailureEntity,
    InstallationEntity,
    BotPluginEntity,
    ShareableIdEntity,
    FormerInstallationEntity,
    ConsoleLinkEntity,
    WebchatSettingsEntity,
  ],
};

const sealedColumns: SealedColumns = {
  owners: 'bot',
  columns: [
    { table: 'bot', column: 'signing_secret', owner: 'id' },
    { table: 'bot', column: 'secrets', owner: 'id', isMap: true },
    { table: 'bot_former_signing_secret', column: 'secret', owner: 'bot_id' },
    { table: 'installation', column: 'configuration', owner: 'bot_id' },
    { table: 'former_installation', column: 'configuration', owner: 'bot_id' },
    { table: 'bot_plugin', column: 'configuration', owner: 'bot_id' },
  ],
};

/** Accounts, workspaces, members, tokens and bots; identifies the caller of each request for the whole platform. */
@Module({})
export class AdminModule {
  static register(config: AdminConfig, platform: Platform): DynamicModule {
    return {
      module: AdminModule,
      imports: [
        ServiceModule.register(
          { name: 'admin', contract: admin, consumers: adminApp.consumes, database: { ...adminDatabase, config } },
          platform,
        ),
        ConfigModule.register(AdminConfig, config),
        SealingModule.register(config, sealedColumns, admin.sealedTexts),
        AccountsModule,
        AuditModule,
        BotCodeModule,
        BotDefinitionsModule,
        BotTargetsModule,
        BotsModule,
        ConsoleModule,
        IdentityModule,
        InstallationsModule,
        IntrospectionModule,
        MembersModule,
        BillingModule,
        OperatorsModule,
        PreferencesModule,
        RegistrationsModule,
        RuntimeKeysModule,
        TokensModule,
        UsageModule,
        WebchatsModule,
        WorkspacesModule,
      ],
      controllers: [deadLettersController(admin.deadLetters), workController(admin.work)],
    };
  }
}
