import { Module } from '@nestjs/common';
import { RolesModule } from '../roles/roles.module';
import { OperatorsController } from './operators.controller';
import { OperatorsRepository } from './operators.repository';
import { OperatorsService } from './operators.service';

@Module({
  imports: [RolesModule],
  controllers: [OperatorsController],
  providers: [OperatorsRepository, OperatorsService],
  exports: [OperatorsService],
})
export class OperatorsModule {}
