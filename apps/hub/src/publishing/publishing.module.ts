import { Module } from '@nestjs/common';
import { PublicationsRepository } from './publications.repository';

@Module({
  providers: [PublicationsRepository],
  exports: [PublicationsRepository],
})
export class PublishingModule {}
