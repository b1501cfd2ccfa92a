import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditModule } from '../audit/audit.module';
import { TokensModule } from '../tokens/tokens.module';
import { UsageModule } from '../usage/usage.module';
import { WorkspacesModule } from '../workspaces/workspaces.module';
import { AccountEntity } from './account.entity';
import { AccountsController } from './accounts.controller';
import { AccountsRepository } from './accounts.repository';
import { AccountsService } from './accounts.service';
import { BootstrapService } from './bootstrap.service';

@Module({
  imports: [AuditModule, TokensModule, UsageModule, WorkspacesModule, TypeOrmModule.forFeature([AccountEntity])],
  controllers: [AccountsController],
  providers: [AccountsService, AccountsRepository, BootstrapService],
  exports: [AccountsRepository],
})
export class AccountsModule {}
