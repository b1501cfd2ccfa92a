import { AnswerControl, AnswerFrame, AnswerState, type AnswerSubjects } from '../answer-streams';
import { channel, instanceOperation } from '../operation';

/** Streams of generated text, keyed by `caller.answerKey`. */
export const modelAnswers: AnswerSubjects = {
  frames: channel({ subject: 'models.answers', data: AnswerFrame }),
  control: instanceOperation({ subject: 'models.answerControl', input: AnswerControl, output: AnswerState }),
};
