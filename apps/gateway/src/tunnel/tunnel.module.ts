import { Module } from '@nestjs/common';
import { TunnelServer } from './tunnel-server.service';
import { TunnelsService } from './tunnels.service';

/** Tunnel for local development: `bp dev` connects here, and requests to its bot come over the bus. */
@Module({ providers: [TunnelServer, TunnelsService] })
export class TunnelModule {}
