import { AnswerControl, AnswerFrame, AnswerState } from '../answer-streams';
import { type AnswerStreams, channel, instanceOperation } from '../operation';

/** Streams of generated text, keyed by `caller.answerKey`. */
export const modelAnswers: AnswerStreams = {
  frames: channel({ subject: 'models.answers', data: AnswerFrame }),
  control: instanceOperation({ subject: 'models.answerControl', input: AnswerControl, output: AnswerState }),
};
