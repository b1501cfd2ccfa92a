import { IsInt, IsString } from 'class-validator';
import { OrNull } from '../fields';
import { consumer, event } from '../operation';

/** Change of the failure state of a recurring event. */
export class RecurringEventSettled {
  @IsString() botId!: string;

  /** Name among the recurring events of the bot's definition. */
  @IsString() name!: string;

  /** Failures since the last success. */
  @IsInt() failedAttempts!: number;

  @OrNull() @IsString() lastFailureReason!: string | null;

  /** Increases with every change. */
  @IsInt() revision!: number;
}

export const recurringEventSettled = event({ subject: 'chat.recurringEventSettled', data: RecurringEventSettled });

export const recordRecurringFailure = consumer({ name: 'admin.recordRecurringFailure', event: recurringEventSettled });
