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
import { BotsModule } from './bots.module';
import { BotCodeEntity, BotVersionEntity } from './bots/bots/bot-version.entity';
import {
  BotAllowedMemberEntity,
  BotEntity,
  FormerSigningSecretEntity,
  RecurringFailureEntity,
} from './bots/bots/bot.entity';
import { BotPluginEntity, InstallationEntity, ShareableIdEntity } from './bots/installations/installation.entity';
import { FormerInstallationEntity } from './bots/registrations/former-installation.entity';
import { WebchatSettingsEntity } from './bots/webchats/webchat-settings.entity';
import { AdminConfig } from './config';
import { Admin1795392000000 } from './migrations/1795392000000-admin';
import { CalledBots1796100000000 } from './migrations/1796100000000-called-bots';
import { RecurringFailures1796200000000 } from './migrations/1796200000000-recurring-failures';
import { RuntimeKeys1796300000000 } from './migrations/1796300000000-runtime-keys';
import { Registrations1796400000000 } from './migrations/1796400000000-registrations';
import { ConsoleLinks1796500000000 } from './migrations/1796500000000-console-links';
import { WebchatSettings1796600000000 } from './migrations/1796600000000-webchat-settings';
import { ComputingBots1796700000000 } from './migrations/1796700000000-computing-bots';
import { BotHomes1797300000000 } from './migrations/1797300000000-bot-homes';
import { Budgets1797400000000 } from './migrations/1797400000000-budgets';
import { PeopleModule } from './people.module';
import { AuditRecordEntity } from './people/access/audit-record.entity';
import { MemberEntity } from './people/access/member.entity';
import { TokenEntity } from './people/access/token.entity';
import { AccountEntity, ConsoleLinkEntity } from './people/accounts/account.entity';
import { UsageEntity } from './people/usage/usage.entity';
import { AccountPreferenceEntity, WorkspacePreferenceEntity } from './people/workspaces/preference.entity';
import { WorkspaceEntity } from './people/workspaces/workspace.entity';

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
    ComputingBots1796700000000,
    BotHomes1797300000000,
    Budgets1797400000000,
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
        PeopleModule,
        BotsModule,
      ],
      controllers: [deadLettersController(admin.deadLetters), workController(admin.work)],
    };
  }
}
