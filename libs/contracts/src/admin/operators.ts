import { IsBoolean } from 'class-validator';
import { account } from '../access';
import { operation } from '../operation';
import { Empty } from '../paging';

export class OperatorAccess {
  /** Whether the account is an owner or administrator of the operator's workspace. */
  @IsBoolean() isOperator!: boolean;
}

/** Accounts that may call operations of the operator with their own token. */
export const operatorAccess = {
  get: operation({
    subject: 'admin.operatorAccess.get',
    route: 'GET /v1/admin/operator-access',
    summary: 'Tells whether the account may see and change the queues of the whole platform.',
    access: account,
    isOwn: true,
    input: Empty,
    output: OperatorAccess,
  }),
};
