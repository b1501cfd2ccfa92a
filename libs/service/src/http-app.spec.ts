import { Controller, type DynamicModule, Get, Module, Req } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createLogger } from '@parley/logging/logger';
import type { FastifyRequest } from 'fastify';
import { Readiness, readinessChecks } from './health.controller';
import { platformToken } from './tokens';
import { createHttpApp } from './http-app';

@Controller()
class AddressController {
  @Get('address')
  address(@Req() request: FastifyRequest) {
    return { address: request.ip };
  }
}

@Module({})
class AddressModule {
  static register(): DynamicModule {
    return {
      module: AddressModule,
      controllers: [AddressController],
      providers: [{ provide: readinessChecks, useValue: [] }, { provide: platformToken, useValue: {} }, Readiness],
    };
  }
}

describe('the address of a client', () => {
  let app: NestFastifyApplication | undefined;

  afterEach(() => app?.close());

  it.each([
    [undefined, '127.0.0.1'],
    ['10.0.0.0/8', '127.0.0.1'],
    ['127.0.0.1', '203.0.113.7'],
    ['127.0.0.0/8, 10.0.0.0/8', '203.0.113.7'],
  ])('reads with the trusted proxies %s the address of a client as %s', async (trustedProxies, address) => {
    app = await createHttpApp(AddressModule.register(), createLogger('test', 'silent'), { trustedProxies });

    const { body } = await app.inject({ url: '/address', headers: { 'x-forwarded-for': '203.0.113.7' } });

    expect(JSON.parse(body)).toEqual({ address });
  });
});
