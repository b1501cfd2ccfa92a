import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { checkOnClientsPort, type MetricsSettings } from './metrics-access';
import { metricsSettings } from './tokens';

@Injectable()
export class MetricsGuard implements CanActivate {
  constructor(@Inject(metricsSettings) private readonly settings: MetricsSettings) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<FastifyRequest>();
    checkOnClientsPort(this.settings, headers.authorization);
    return true;
  }
}
