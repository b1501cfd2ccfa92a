import { Module } from '@nestjs/common';
import { IdentityModule } from '../identity/identity.module';
import { IntrospectionController } from './introspection.controller';
import { IntrospectionRepository } from './introspection.repository';
import { IntrospectionService } from './introspection.service';

@Module({
  imports: [IdentityModule],
  controllers: [IntrospectionController],
  providers: [IntrospectionService, IntrospectionRepository],
})
export class IntrospectionModule {}
