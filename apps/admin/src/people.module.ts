import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditController } from './people/access/audit.controller';
import { AuditRepository } from './people/access/audit.repository';
import { AuditService } from './people/access/audit.service';
import { BotVisibilityController } from './people/access/bot-visibility.controller';
import { BotVisibilityRepository } from './people/access/bot-visibility.repository';
import { BotVisibilityService } from './people/access/bot-visibility.service';
import { RecordChangeHandler } from './people/access/record-change.handler';
import { RolesRepository } from './people/access/roles.repository';
import { TokenEntity } from './people/access/token.entity';
import { TokensController } from './people/access/tokens.controller';
import { TokensRepository } from './people/access/tokens.repository';
import { TokensService } from './people/access/tokens.service';
import { AccountEntity } from './people/accounts/account.entity';
import { AccountsController } from './people/accounts/accounts.controller';
import { AccountsRepository } from './people/accounts/accounts.repository';
import { AccountsService } from './people/accounts/accounts.service';
import { BootstrapService } from './people/accounts/bootstrap.service';
import { ConsoleController } from './people/accounts/console.controller';
import { ConsoleRepository } from './people/accounts/console.repository';
import { ConsoleService } from './people/accounts/console.service';
import { MembersController } from './people/accounts/members.controller';
import { MembersRepository } from './people/accounts/members.repository';
import { MembersService } from './people/accounts/members.service';
import { IdentityController } from './people/identity/identity.controller';
import { IdentityRepository } from './people/identity/identity.repository';
import { IdentityService } from './people/identity/identity.service';
import { OperatorsService } from './people/identity/operators.service';
import { BillingService } from './people/usage/billing.service';
import { BudgetsRepository } from './people/usage/budgets.repository';
import { BudgetsService } from './people/usage/budgets.service';
import { CallQuotaService } from './people/usage/call-quota.service';
import { QuotasService } from './people/usage/quotas.service';
import { RecordUsageHandler } from './people/usage/record-usage.handler';
import { UsageController } from './people/usage/usage.controller';
import { UsageRepository } from './people/usage/usage.repository';
import { UsageService } from './people/usage/usage.service';
import { AccountPreferenceEntity, WorkspacePreferenceEntity } from './people/workspaces/preference.entity';
import { PreferencesController } from './people/workspaces/preferences.controller';
import { PreferencesRepository } from './people/workspaces/preferences.repository';
import { PreferencesService } from './people/workspaces/preferences.service';
import { WorkspaceEntity } from './people/workspaces/workspace.entity';
import { WorkspacesController } from './people/workspaces/workspaces.controller';
import { WorkspacesRepository } from './people/workspaces/workspaces.repository';
import { WorkspacesService } from './people/workspaces/workspaces.service';

/** Accounts, workspaces and their members, with their roles, tokens, audit records and usage; identifies callers. */
@Module({
  imports: [
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
    BotVisibilityController,
    ConsoleController,
    IdentityController,
    MembersController,
    PreferencesController,
    RecordChangeHandler,
    RecordUsageHandler,
    TokensController,
    UsageController,
    WorkspacesController,
  ],
  providers: [
    AccountsService,
    AccountsRepository,
    AuditService,
    AuditRepository,
    BillingService,
    BootstrapService,
    BotVisibilityService,
    BotVisibilityRepository,
    BudgetsService,
    BudgetsRepository,
    CallQuotaService,
    ConsoleService,
    ConsoleRepository,
    IdentityService,
    IdentityRepository,
    MembersService,
    MembersRepository,
    OperatorsService,
    PreferencesService,
    PreferencesRepository,
    QuotasService,
    RolesRepository,
    TokensService,
    TokensRepository,
    UsageService,
    UsageRepository,
    WorkspacesService,
    WorkspacesRepository,
  ],
  exports: [
    AuditRepository,
    BotVisibilityRepository,
    BotVisibilityService,
    CallQuotaService,
    QuotasService,
    RolesRepository,
    TokensRepository,
  ],
})
export class PeopleModule {}
