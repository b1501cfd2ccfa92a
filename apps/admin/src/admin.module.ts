import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { adminApp } from '@parley/contracts/apps/admin';
import { admin } from '@parley/contracts/admin/admin';
import { deadLettersController } from '@parley/events/dead-letters';
import { eventEntities } from '@parley/events/event-entities';
import { IdempotencyKeyEntity } from '@parley/persistence/idempotency-key.entity';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import type { SealedColumns } from '@parley/secrets/sealed-texts.repository';
import { SealingModule } from '@parley/secrets/sealing.module';
import type { Platform } from '@parley/service/platform';
import { ServiceModule } from '@parley/service/service.module';
import { AccountEntity } from './accounts/account.entity';
import { AccountsController } from './accounts/accounts.controller';
import { AccountsRepository } from './accounts/accounts.repository';
import { AccountsService } from './accounts/accounts.service';
import { BootstrapService } from './accounts/bootstrap.service';
import { AuditRecordEntity } from './audit/audit-record.entity';
import { AuditController } from './audit/audit.controller';
import { AuditRepository } from './audit/audit.repository';
import { AuditService } from './audit/audit.service';
import { RecordChangeHandler } from './audit/record-change.handler';
import { BotAllowedMemberEntity } from './bots/bot-allowed-member.entity';
import { BotAllowlistController } from './bots/bot-allowlist.controller';
import { BotAllowlistRepository } from './bots/bot-allowlist.repository';
import { BotAllowlistService } from './bots/bot-allowlist.service';
import { BotCodeEntity, BotVersionEntity } from './bots/bot-version.entity';
import { BotVersionsController } from './bots/bot-versions.controller';
import { BotVersionsRepository } from './bots/bot-versions.repository';
import { BotVersionsService } from './bots/bot-versions.service';
import { BotEntity } from './bots/bot.entity';
import { BotsController } from './bots/bots.controller';
import { BotsRepository } from './bots/bots.repository';
import { BotsService } from './bots/bots.service';
import { FormerSigningSecretEntity } from './bots/former-signing-secret.entity';
import { AdminConfig } from './config';
import { BotPluginEntity, InstallationEntity } from './installations/installation.entity';
import { InstallationsController } from './installations/installations.controller';
import { InstallationsRepository } from './installations/installations.repository';
import { InstallationsService } from './installations/installations.service';
import { RefreshInstallationsHandler } from './installations/refresh-installations.handler';
import { ShareableIdEntity } from './installations/shareable-id.entity';
import { ShareableIdsController } from './installations/shareable-ids.controller';
import { ShareableIdsRepository } from './installations/shareable-ids.repository';
import { ShareableIdsService } from './installations/shareable-ids.service';
import { IdentityController } from './identity/identity.controller';
import { IdentityRepository } from './identity/identity.repository';
import { IdentityService } from './identity/identity.service';
import { IntrospectionController } from './introspection/introspection.controller';
import { IntrospectionRepository } from './introspection/introspection.repository';
import { IntrospectionService } from './introspection/introspection.service';
import { MemberEntity } from './members/member.entity';
import { MembersController } from './members/members.controller';
import { MembersService } from './members/members.service';
import { Admin1795392000000 } from './migrations/1795392000000-admin';
import { AccountPreferenceEntity, WorkspacePreferenceEntity } from './preferences/preference.entity';
import { PreferencesController } from './preferences/preferences.controller';
import { PreferencesRepository } from './preferences/preferences.repository';
import { PreferencesService } from './preferences/preferences.service';
import { BotDefinitionsController } from './bot-definitions/bot-definitions.controller';
import { BotDefinitionsRepository } from './bot-definitions/bot-definitions.repository';
import { BotDefinitionsService } from './bot-definitions/bot-definitions.service';
import { TokenEntity } from './tokens/token.entity';
import { TokensController } from './tokens/tokens.controller';
import { TokensRepository } from './tokens/tokens.repository';
import { TokensService } from './tokens/tokens.service';
import { QuotasService } from './usage/quotas.service';
import { RecordUsageHandler } from './usage/record-usage.handler';
import { UsageEntity } from './usage/usage.entity';
import { UsageController } from './usage/usage.controller';
import { UsageRepository } from './usage/usage.repository';
import { UsageService } from './usage/usage.service';
import { MembersRepository } from './workspaces/members.repository';
import { WorkspaceEntity } from './workspaces/workspace.entity';
import { WorkspacesController } from './workspaces/workspaces.controller';
import { WorkspacesRepository } from './workspaces/workspaces.repository';
import { WorkspacesService } from './workspaces/workspaces.service';

export const adminDatabase: ServiceSchema = {
  schema: 'admin',
  migrations: [Admin1795392000000],
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
    InstallationEntity,
    BotPluginEntity,
    ShareableIdEntity,
  ],
};

const sealedColumns: SealedColumns = {
  owners: 'bot',
  columns: [
    { table: 'bot', column: 'signing_secret', owner: 'id' },
    { table: 'bot', column: 'secrets', owner: 'id', isMap: true },
    { table: 'bot_former_signing_secret', column: 'secret', owner: 'bot_id' },
    { table: 'installation', column: 'configuration', owner: 'bot_id' },
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
        SealingModule.register(config, sealedColumns, admin.sealedTexts),
        TypeOrmModule.forFeature([
          AccountEntity,
          AccountPreferenceEntity,
          TokenEntity,
          WorkspaceEntity,
          WorkspacePreferenceEntity,
        ]),
      ],
      controllers: [
        AccountsController,
        AuditController,
        BotAllowlistController,
        BotVersionsController,
        BotsController,
        IdentityController,
        InstallationsController,
        ShareableIdsController,
        IntrospectionController,
        MembersController,
        PreferencesController,
        BotDefinitionsController,
        TokensController,
        UsageController,
        WorkspacesController,
        deadLettersController(admin.deadLetters),
        RecordUsageHandler,
        RecordChangeHandler,
        RefreshInstallationsHandler,
      ],
      providers: [
        { provide: AdminConfig, useValue: config },
        AccountsRepository,
        AccountsService,
        AuditRepository,
        AuditService,
        BootstrapService,
        BotAllowlistRepository,
        BotAllowlistService,
        BotVersionsRepository,
        BotVersionsService,
        BotsRepository,
        BotsService,
        IdentityRepository,
        IdentityService,
        InstallationsRepository,
        InstallationsService,
        ShareableIdsRepository,
        ShareableIdsService,
        IntrospectionRepository,
        IntrospectionService,
        MembersRepository,
        MembersService,
        PreferencesRepository,
        PreferencesService,
        QuotasService,
        UsageRepository,
        UsageService,
        BotDefinitionsRepository,
        BotDefinitionsService,
        TokensRepository,
        TokensService,
        WorkspacesRepository,
        WorkspacesService,
      ],
    };
  }
}
