import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { errors, jwtVerify, SignJWT } from 'jose';

const algorithm = 'HS256';
const lifetimeSeconds = 15 * 60;

export interface DeployedCode {
  botId: string;
  versionId: string;
}

/**
 * Tickets for the deployed code of a bot, signed by admin. A runner has only those of the bots that it was asked to call,
 * so it cannot read the secrets of others.
 */
@Injectable()
export class CodeTicketsService {
  private readonly keys: [Buffer, ...Buffer[]];

  constructor(keys: SecretKeys) {
    this.keys = keys.derive('code-tickets');
  }

  sign({ botId, versionId }: DeployedCode): Promise<string> {
    return new SignJWT({ version: versionId })
      .setProtectedHeader({ alg: algorithm })
      .setSubject(botId)
      .setExpirationTime(`${lifetimeSeconds} s`)
      .sign(this.keys[0]);
  }

  /** Throws Forbidden for a ticket that is forged or has expired. */
  async verify(ticket: string): Promise<DeployedCode> {
    for (const key of this.keys) {
      try {
        const { payload } = await jwtVerify(ticket, key, { algorithms: [algorithm], requiredClaims: ['sub', 'exp'] });
        return { botId: payload.sub!, versionId: String(payload['version']) };
      } catch (error) {
        if (!(error instanceof errors.JOSEError)) throw error;
      }
    }
    throw new ApiError('Forbidden', 'The ticket for the code is invalid or has expired.');
  }
}
