import { Module } from '@nestjs/common';
import { ModelsClient } from '@parley/service/models.client';
import { ModelServerClient } from './model-server.client';

@Module({ providers: [ModelsClient, ModelServerClient], exports: [ModelServerClient] })
export class ModelsModule {}
