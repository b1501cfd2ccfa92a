import type { FactoryProvider } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { Purpose } from './derived-key';
import type { SealedFor } from './sealed-box';
import { SecretKeys } from './secret-keys';

const algorithm = 'HS256';
const lifetimeSeconds = 15 * 60;

/** Code of a bot or of an integration, as it is deployed. */
export interface DeployedCode extends SealedFor {
  version: string;
  workspaceId: string;
}

type TicketPurpose = Extract<Purpose, 'code-tickets' | 'integration-code-tickets'>;

/** Signed tickets for deployed code: admin and the hub give it and its secrets away only for one. */
export class CodeTickets {
  private readonly keys: [Buffer, ...Buffer[]];

  constructor(keys: SecretKeys, purpose: TicketPurpose) {
    this.keys = keys.derive(purpose);
  }

  /** Provider for the service that owns the code. */
  static provider(purpose: TicketPurpose): FactoryProvider<CodeTickets> {
    return {
      provide: CodeTickets,
      useFactory: (keys: SecretKeys) => new CodeTickets(keys, purpose),
      inject: [SecretKeys],
    };
  }

  sign({ ownerId, version, revision, workspaceId }: DeployedCode): Promise<string> {
    return new SignJWT({ version, revision, workspaceId })
      .setProtectedHeader({ alg: algorithm })
      .setSubject(ownerId)
      .setExpirationTime(`${lifetimeSeconds} s`)
      .sign(this.keys[0]);
  }

  /** Throws Forbidden for a ticket that is forged or has expired. */
  async verify(ticket: string): Promise<DeployedCode> {
    for (const key of this.keys) {
      try {
        const { payload } = await jwtVerify(ticket, key, { algorithms: [algorithm], requiredClaims: ['sub', 'exp'] });
        const { version, revision, workspaceId } = payload as JWTPayload & Omit<DeployedCode, 'ownerId'>;
        return { ownerId: payload.sub!, version, revision, workspaceId };
      } catch (error) {
        if (!(error instanceof errors.JOSEError)) throw error;
      }
    }
    throw new ApiError('Forbidden', 'The ticket for the code is invalid or has expired.');
  }
}
