import { Controller } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import {
  type GenerateAudio,
  type GenerateImage,
  type ListVoices,
  media,
  type TranscribeAudio,
} from '@parley/contracts/models/media';
import { Handles } from '@parley/transport/handles';
import { MediaService } from './media.service';
import { SpeechService } from './speech.service';

@Controller()
export class MediaController {
  constructor(
    private readonly service: MediaService,
    private readonly speech: SpeechService,
  ) {}

  @Handles(media.transcribeAudio)
  transcribeAudio(caller: BotCaller, input: TranscribeAudio) {
    return this.service.transcribeAudio(caller, input);
  }

  @Handles(media.generateImage)
  generateImage(caller: BotCaller, input: GenerateImage) {
    return this.service.generateImage(caller, input);
  }

  @Handles(media.generateAudio)
  generateAudio(caller: BotCaller, input: GenerateAudio) {
    return this.service.generateAudio(caller, input);
  }

  @Handles(media.generateAudioStream)
  generateAudioStream(caller: BotCaller, input: GenerateAudio) {
    return this.service.generateAudioStream(caller, input);
  }

  @Handles(media.listVoices)
  listVoices(_caller: BotCaller, input: ListVoices) {
    return this.speech.listVoices(input);
  }
}
