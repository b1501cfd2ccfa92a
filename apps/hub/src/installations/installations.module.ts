import { Module } from '@nestjs/common';
import { CountersModule } from '../counters/counters.module';
import { CountInstallationsHandler } from './count-installations.handler';
import { InstallationsRepository } from './installations.repository';
import { InstallationsService } from './installations.service';

@Module({
  imports: [CountersModule],
  controllers: [CountInstallationsHandler],
  providers: [InstallationsRepository, InstallationsService],
  exports: [InstallationsService],
})
export class InstallationsModule {}
