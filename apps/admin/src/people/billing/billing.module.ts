import { Module } from '@nestjs/common';
import { RolesModule } from '../roles/roles.module';
import { BillingController } from './billing.controller';
import { BillingService } from './billing.service';

@Module({
  imports: [RolesModule],
  controllers: [BillingController],
  providers: [BillingService],
})
export class BillingModule {}
