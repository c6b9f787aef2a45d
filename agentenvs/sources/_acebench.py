"""The manifest's entry for ACEBench: 68 data files, and what its services start from."""

from __future__ import annotations

from agentenvs.sources._archive import Archive
from agentenvs.sources._source import NeededFile, Source
from agentenvs.sources._states import ClassState, ClassStates

__all__ = ["ACEBENCH"]


def _files(pattern: str, table: str) -> tuple[NeededFile, ...]:
    rows = (line.split() for line in table.strip().splitlines())
    return tuple(NeededFile(pattern.format(name), int(size), sha) for size, sha, name in rows)


def _state(lang: str, name: str, attributes: str, sha256: str) -> ClassState:
    return ClassState(lang, name, tuple(attributes.split()), sha256)


_FILES = (
    *_files(
        "data_all/data_en/data_{}.json",
        """
102546 c04b7561a2a5b31b3c4fd3067807ab4e0a7907f5a72cd5ec987da3469eac1fe9 agent_multi_step
149522 0380631f379510fad4aab885b9679cfe99e66cf3a01e92f570f9180141f637d0 agent_multi_turn
300243 59695e59c0d92cd22ec418bfd6f936d0d44a8d6e1fc16e6cb033b12213c57b0b normal_atom_bool
315211 a2e870f8ba23687ba182a2bb0bdba0a7e02c21b67f3ebc5cc07a71fc2007d31b normal_atom_enum
307549 2e6c7c35e18379c886c17ae2f52d62637e92a388a1f810025c57206698c3e7ff normal_atom_list
305558 eba9d748fcd08f142abf053fe2eecc573c98232f218ff412eb9ea5350abca422 normal_atom_number
235340 2df8cd21fcf7388ee4fa0d98f0587292ba4c14b7c8bde059b3dca18ad885d1ec normal_atom_object_deep
187041 eef597c5400e17e1c23a7548505e48139a3648d6e5bd5feabbc9b12fcf7a1a76 normal_atom_object_short
403725 b05dd0fe2afb02270ecbdfddfc7a8b1606339c234d5098749742e79bc51ea8cc normal_multi_turn_user_adjust
616616 3ed94d09401c53a99c23edc8b60ebfda8d4ae486f9bea19f87b6000a66588cf0 normal_multi_turn_user_switch
360015 61413bbfb5f94b3ad74f348d9f33c8c10b531dfcf6e5429caa3f1a91fa64252d normal_preference
105610 f3ae38a6b56ab27c47bd929f16468598636ff76ecc095ff60c41c8b5a9ee843f normal_similar_api
364550 7b9b9200cf5224e93f20bf14f076bead8e75d451a7dd6956d346fb1200412235 normal_single_turn_parallel_function
377304 45278849617f4b3e290db1da13929ba0a43fc4cb3332b461560a519e32af82f2 normal_single_turn_single_function
99795 3ce0f322934d8a8a96eb8bae945949f61c53b74505ba0d65c4850f98e8ba3bae special_error_param
183613 186f593f8f2be7e709c5878f57d23f401c51e326ffcadcd62f9c5c08c8e34f3b special_incomplete
175451 20bb62a9c48b1daf852870096f5d70d53a09a07b8f90a7c09815c6d934e8f41e special_irrelevant
""",  # noqa: E501
    ),
    *_files(
        "data_all/data_en/possible_answer/data_{}.json",
        """
43358 5081e9b5be93d8f9a52b91ee013250f1ae64a10d3edbe2d1225bb0beb99b160e agent_multi_step
59156 ad077af54920d614438c28b3c7483d556b1a732d0dd0973c867e497c7c0a828b agent_multi_turn
7810 16c5c8d009d37a0dd5e398838c62857ad2ebae1eb0c0ee1a52eed39a654df86e normal_atom_bool
7553 01fe289a43c49b4118f063c9acc7422bc3193771fed2c1f2fbee009e44cc21ed normal_atom_enum
8036 e71b36d87d6f3b5129026e511acb12d560d4f6ed18009fa38b82980e8a0c5f51 normal_atom_list
6849 7b4b580781f54d7c2a308bf125753a852895b7069b75c0397d2f2131398bf5ea normal_atom_number
18865 bf681a1cd84fb286562f3ba57ce9d28946a7cdcf8661b2aad125d69d4beecab7 normal_atom_object_deep
13777 cbe2efb23ae18454f28cdb3e5aaf223e30c2249b73d0722956f588124970e184 normal_atom_object_short
31810 a570117cde521c5d1c16adc2d461b8845c969a3334192bd357dec13cf6657889 normal_multi_turn_user_adjust
27345 ca0c10778a899fecd3b9767dae7d188d9924a0dbb191e2e6bc0b5808b8baa37e normal_multi_turn_user_switch
10053 ed9da0b58446812e8be562fb0594989bd759c249c1cdcd722a9dee5e89ee6644 normal_preference
9993 0976f8fd3f11b9d5ba3783dc746158aeea3fdb1b34a46b07f3c4c731375a8543 normal_similar_api
59435 fac555edad6f61927093504f10bdaef3cf54fbd587affcf3ce52b9f4ec0d3aa0 normal_single_turn_parallel_function
31354 e541ad06ecaf49310105209222b9788711cc15d684174276f56224e584b8589d normal_single_turn_single_function
4032 5e4c8b8ca768d65372fac1e54c16ef90bf6c8869b8163a00a4afcc47867249b8 special_error_param
5996 2995a33b6c539bc29fe38a326a58d7989c6cf1b1bdaa22ff76c8d318b92f5f6d special_incomplete
5990 cd3f1d66e554869e8870677acc07df78c6ebf8bbba6e600cbb825072181566b8 special_irrelevant
""",  # noqa: E501
    ),
    *_files(
        "data_all/data_zh/data_{}.json",
        """
71736 dcf74daf8dce797c1c86cbcf54e6fd63d6b83425d50bc7076ad98810b14b6b68 agent_multi_step
110162 847df81f26e188e7c1eff8d010acf5f3c415cbe3a89ebc414efee013dc81c06e agent_multi_turn
222549 0b945e4a0d2018875b6e50a28e55359d94609681853c50a87d205a115be55bf8 normal_atom_bool
235001 806ece8b2753779816185a4060e68667053ab46144bb2b294c434bc3d9116f85 normal_atom_enum
236804 da4839021796e66eb149917ebfe839dd25589faf2310e5360e8d04d1c102db88 normal_atom_list
237266 924456f46cada50acd4330c8b7f3790ce12837480991d1a6f3098fd73cb8ebb7 normal_atom_number
186154 7d59db54e4d486fb29e985bfccc752afac92fe67a739c0f3ea2303dfd89f87af normal_atom_object_deep
162795 1c7107737f539243629cbbf118a83138428c05da5574658caf6c8ff8ed0a252d normal_atom_object_short
304191 15370d45110dbb2fae7b18b1a738b5f08db5f3c5b4faf8fd01ea716335754721 normal_multi_turn_user_adjust
530323 18f5baf129f7fdfc72c9aaf43b1d9c51e846491f890fa616a66e007cfe676962 normal_multi_turn_user_switch
295699 cce33ef074d89bc5a5e87090fc36d22720f83af936501065dcef87723c27e761 normal_preference
79309 ecf3324eabfd91a626f97c91a550213601cce84b4eb410e3c12a5e05eff9cb91 normal_similar_api
331188 8479e8739e25a58ae61f18b5d68f3843dc76f22c3ce155353d56036d4778f894 normal_single_turn_parallel_function
305479 95e8a10c3fc98d706d69a2b47cc7ec1a18449eb24e1dcb616b232b0a8a83aff4 normal_single_turn_single_function
84583 2c728affde4a5551c38d59eef4d36aa0997bc23e2deb097532536a854cf7f4d2 special_error_param
153505 e2e6b3383679d3e6970590be6972bb7b36f2dad47aba3ed18b83556d00f7d5fc special_incomplete
146737 3a43bf88e1b77be69f2d078a978979e7b37d402735af5cd764f116f09bbbc29f special_irrelevant
""",  # noqa: E501
    ),
    *_files(
        "data_all/data_zh/possible_answer/data_{}.json",
        """
41792 4ca297f2c1d5f8eee3a45cd3e7d8cce7f2bb89d1f22a8e12fd033f6c50a7069b agent_multi_step
57774 ea11d8cc8fdef39660699ec219b0eef71d261226f8018ed6c35571206e53ec00 agent_multi_turn
7676 c9e9bb15872a71284742de8f9db241ead8621682bb4b0ba1894550cec95be571 normal_atom_bool
7678 57a75036ca6901619d7f6ed37371d82063524e1e02dacc58ba1e68c73e3d0888 normal_atom_enum
9302 586834aabc928c93df20af270656bdf2846ae7761a490daf4fbfd11b51e4f7bf normal_atom_list
6938 093288870e5a7d6243d2e598c5ea2ccaa7a84e95a523af70b17a5b43bef11cd7 normal_atom_number
15269 15bd565c36852d3d93e68f4dee5189b6b0a87dfd9947544dda82759d46b67eb9 normal_atom_object_deep
9797 e4cd896db9292b7eb350d2551d8ce63a60d537b66dd28b13c64e2118afad3483 normal_atom_object_short
25409 15accc1f8dfb0f44aa04cde0a26a552d425ce104dbaa5c6dbc85b7d0115842e5 normal_multi_turn_user_adjust
28640 89257a02b15a6d5b52166f51fdd125ec322ba6728e5389f5bda7e8751dbeb8fd normal_multi_turn_user_switch
9667 6ea2c90fb29a36964e5700f1a81a21b7284f8362d7aa809c30c4ea4d5a0d7aa5 normal_preference
8219 aa3e5b569c31ac4ca4b728d9fcb105a992566ddea15964e9f55e29aa945ab384 normal_similar_api
73027 0786f04adcc1672ebd7d938fc8f602da674c3312b4c8b5f3d7d990523bc8891a normal_single_turn_parallel_function
31157 5e4a4f3268e46095392b6208bec3aefd015467404985d45853155ec6f036edf4 normal_single_turn_single_function
4029 e57c471a4a4f906b92c2ab3f67052a31ef4c580c11b8dc5941152a4fbce3d246 special_error_param
5636 d1401ce3075dadf31b476f0074221efd7aeef548d6e13c99471110eed3743570 special_incomplete
5990 cd3f1d66e554869e8870677acc07df78c6ebf8bbba6e600cbb825072181566b8 special_irrelevant
""",  # noqa: E501
    ),
)

_COMMIT = "56dd66cf6439b0d9655ee1b353e4cd745c6f664e"
_HOST = "https://codeload.github.com/chenchen0103/ACEBench"
_WORLD = ClassStates(
    "world.json",
    14_648,
    "158009432a79c1493376540ae7d8ce999b1cdc775495a9b08b50c7f444ec41ea",
    (
        _state(
            "en",
            "MessageApi",
            "max_capacity user_list inbox message_id_counter",
            "087ac3ff4e50136ba7061c79d6ec08251734fdc85bb067c4355781ab52883038",
        ),
        _state(
            "en",
            "ReminderApi",
            "max_capacity reminder_list reminder_id_counter",
            "4c6d67f942ff5a9e9f580543e1c2130987c1b21587bd5745210db1ac447df66f",
        ),
        _state(
            "en",
            "FoodPlatform",
            "users merchant_list logged_in_users orders",
            "b37d98337ffc3068b61dc3376d89bbb0e1a9a13f841f4731665ad5ec833adbc1",
        ),
        _state(
            "en",
            "Travel",
            "users flights reservations",
            "de4556aea13a3b4cf583c42628c6f18006f6e02cf62df217fb65720ad99054c1",
        ),
        _state(
            "zh",
            "MessageApi",
            "max_capacity user_list inbox message_id_counter",
            "79f5a68c02edbd421be64f984e070766216c2d8af2844e9ff4b21704c003de4c",
        ),
        _state(
            "zh",
            "ReminderApi",
            "max_capacity reminder_list reminder_id_counter",
            "0b06c54b9844a834fc5ac07a81631fc79ed773c3524e549a82c0b4115aee7d43",
        ),
        _state(
            "zh",
            "FoodPlatform",
            "users merchant_list logged_in_users orders",
            "dcbbdd65f65ca50e48a38f700b5b588c8faeec0932565f4d2ce97fd9f6fd9746",
        ),
        _state(
            "zh",
            "Travel",
            "users flights reservations",
            "f04cbb7c832b9b6dd02bdf5155c6e2edebe07451cadf064e1599fe0068cc50ec",
        ),
    ),
    (("BaseApi", (("wifi", False), ("logged_in", True))),),
)

#: The addresses are written down from GitHub's documentation and are unverified: nobody has
#: fetched from them with this code. Where in the repository the classes lie is not known.
ACEBENCH = Source(
    name="acebench",
    version=_COMMIT,
    title="ACEBench, all categories, English and Chinese",
    licence="MIT",
    credit="ACEBench, Chen et al. 2025 (the licence's copyright line names Microsoft Corporation)",
    url="https://github.com/chenchen0103/ACEBench",
    filename=f"ACEBench-{_COMMIT}.zip",
    size=sum(file.size for file in _FILES),
    way=Archive(
        (
            f"{_HOST}/zip/{_COMMIT}",
            f"{_HOST}/tar.gz/{_COMMIT}",
        )
    ),
    files=_FILES,
    bare="data_all/",
    made=(_WORLD,),
)
