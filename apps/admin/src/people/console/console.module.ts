import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module';
import { TokensModule } from '../tokens/tokens.module';
import { ConsoleController } from './console.controller';
import { ConsoleRepository } from './console.repository';
import { ConsoleService } from './console.service';

@Module({
  imports: [AccountsModule, TokensModule],
  controllers: [ConsoleController],
  providers: [ConsoleRepository, ConsoleService],
})
export class ConsoleModule {}
